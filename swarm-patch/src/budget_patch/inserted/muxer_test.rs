/// A socket that always has another frame to read.
struct EndlessFrames(std::rc::Rc<std::cell::Cell<usize>>);

impl std::io::Read for EndlessFrames {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        // A header of zeros announces an empty data frame.
        buffer.fill(0);
        self.0.set(self.0.get() + 1);
        Ok(buffer.len())
    }
}

impl std::io::Write for EndlessFrames {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        Ok(buffer.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn poll_yields_when_its_budget_is_spent() {
    let frames = std::rc::Rc::default();
    let socket = futures::io::AllowStdIo::new(EndlessFrames(std::rc::Rc::clone(&frames)));
    let mut active = Active::new(socket, Config::default(), Mode::Server);

    let mut polls = 0;
    let two_polls = std::future::poll_fn(|cx| {
        // A poll without a budget would never end.
        assert!(active.poll(cx).is_pending());
        polls += 1;
        // The second poll shows that the connection wakes its task.
        if polls == 2 {
            return Poll::Ready(());
        }
        Poll::Pending
    });
    /*BLOCK_ON*/(two_polls);

    //ASSERT frames.get()
}
