#[tokio::test]
async fn poll_yields_when_its_budget_is_spent() {
    let streams = Arc::new(());
    let mut connection = Connection::new(
        StreamMuxerBox::new(DummyStreamMuxer {
            counter: streams.clone(),
        }),
        MockConnectionHandler::new(Duration::from_secs(10)),
        None,
        usize::MAX, // A poll without a budget would never end.
        Duration::ZERO,
    );

    let mut polls = 0;
    std::future::poll_fn(|cx| {
        assert!(Pin::new(&mut connection).poll(cx).is_pending());
        polls += 1;
        // The second poll shows that the connection wakes its task.
        if polls == 2 {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;

    //ASSERT Arc::weak_count(&streams)
}
