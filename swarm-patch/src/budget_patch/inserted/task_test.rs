/// A [`StreamMuxer`](libp2p_core::StreamMuxer) whose address never stops changing.
struct RestlessStreamMuxer;

impl libp2p_core::StreamMuxer for RestlessStreamMuxer {
    type Substream = futures::io::Cursor<Vec<u8>>;
    type Error = std::io::Error;

    fn poll_inbound(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Result<Self::Substream, Self::Error>> {
        Poll::Pending
    }

    fn poll_outbound(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Result<Self::Substream, Self::Error>> {
        Poll::Pending
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Pending
    }

    fn poll(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Result<StreamMuxerEvent, Self::Error>> {
        Poll::Ready(Ok(StreamMuxerEvent::AddressChange(Multiaddr::empty())))
    }
}

#[tokio::test]
async fn task_yields_when_its_budget_is_spent() {
    let (_commands, command_receiver) = mpsc::channel(1);
    let (events, mut event_receiver) = mpsc::channel(1 << 30);
    let connection = connection::Connection::new(
        StreamMuxerBox::new(RestlessStreamMuxer),
        crate::dummy::ConnectionHandler,
        None,
        0,
        std::time::Duration::from_secs(10),
    );
    let mut task = Box::pin(/*TASK*/new_for_established_connection(
        ConnectionId::new_unchecked(1),
        PeerId::random(),
        connection,
        command_receiver,
        events,
    )/*END*/);

    let mut polls = 0;
    std::future::poll_fn(|cx| {
        // A poll without a budget would never end.
        assert!(task.as_mut().poll(cx).is_pending());
        polls += 1;
        // The second poll shows that the task wakes itself.
        if polls == 2 {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;

    let mut handled = 0;
    while let Some(Some(_)) = event_receiver.next().now_or_never() {
        handled += 1;
    }
    //ASSERT handled
}
