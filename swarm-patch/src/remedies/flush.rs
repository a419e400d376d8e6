use super::RemedySpec;
use crate::sites::Rewrite;

/// yamux flushes in every iteration of its loop, so that each frame becomes a message of noise and a system call of its own.
/// With this remedy yamux flushes once no frame waits to be sent, and after 32 KiB, so that the receiver can begin.
pub const FLUSH: RemedySpec = RemedySpec {
    name: "flush",
    number: 0,
    package: "yamux",
    fields: ("Active", "unflushed: usize,"),
    rewrites: &[
        Rewrite::new("Active::new", "IntMap::default()", "", ", unflushed: 0"),
        Rewrite::new(
            "Active::poll",
            "self.socket.start_send_unpin(frame)?",
            "{ self.unflushed += 12; \
                      if frame.header().tag() == Tag::Data { self.unflushed += frame.header().len().val() as usize; } ",
            " }",
        ),
        Rewrite::new(
            "Active::poll",
            "self.socket.poll_flush_unpin(cx)?",
            "if !probe.remedy(0) || self.unflushed >= 32 * 1024 { self.unflushed = 0; ",
            " } else { Poll::Ready(()) }",
        ),
        Rewrite::new(
            "Active::poll",
            "self.pending_read_frame.is_none()",
            "{ if probe.remedy(0) { self.unflushed = 0; let _ = self.socket.poll_flush_unpin(cx)?; } ",
            " }",
        ),
    ],
    file: "src/connection.rs",
    replacements: &[
        FIELD,
        INITIAL_VALUE,
        COUNT,
        CONSTANT,
        FLUSH_AFTER_A_FRAME,
        FLUSH_BEFORE_READING,
    ],
    news: "Flush after 32 KiB or once no frame waits to be sent, and not after every frame.",
    unit_test: r#"
#[cfg(test)]
mod flush_tests {
    use super::*;

    /// A socket with room for everything, which counts how often it is flushed.
    struct Flushed(std::rc::Rc<std::cell::Cell<usize>>);

    impl AsyncRead for Flushed {
        fn poll_read(
            self: std::pin::Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut [u8],
        ) -> Poll<std::io::Result<usize>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Flushed {
        fn poll_write(
            self: std::pin::Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &[u8],
        ) -> Poll<std::io::Result<usize>> {
            Poll::Ready(Ok(buffer.len()))
        }

        fn poll_flush(
            self: std::pin::Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<std::io::Result<()>> {
            self.0.set(self.0.get() + 1);
            Poll::Ready(Ok(()))
        }

        fn poll_close(
            self: std::pin::Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn frames_that_wait_together_share_a_flush() {
        let flushes = std::rc::Rc::default();
        let socket = Flushed(std::rc::Rc::clone(&flushes));
        let mut active = Active::new(socket, Config::default(), Mode::Client);
        let cx = &mut Context::from_waker(futures::task::noop_waker_ref());
        let Poll::Ready(Ok(mut stream)) = active.poll_new_outbound(cx) else {
            panic!("there is room for a stream");
        };
        for _ in 0..4 {
            let written = std::pin::Pin::new(&mut stream).poll_write(cx, b"frame");
            assert!(written.is_ready());
        }

        // A poll may have a bound, and is woken until nothing waits.
        for _ in 0..32 {
            assert!(active.poll(cx).is_pending());
        }

        // The first poll sends a ping and the frames.
        let polls_without_frames = 31;
        assert!(flushes.get() <= polls_without_frames + 2);
    }
}
"#,
};

const FIELD: (&str, &str) = (
    "    accumulated_max_stream_windows: Arc<Mutex<usize>>,
}
",
    "    accumulated_max_stream_windows: Arc<Mutex<usize>>,

    /// How many bytes were written since the last flush.
    unflushed: usize,
}
",
);
const INITIAL_VALUE: (&str, &str) = (
    "            accumulated_max_stream_windows: Default::default(),
",
    "            accumulated_max_stream_windows: Default::default(),
            unflushed: 0,
",
);
const COUNT: (&str, &str) = (
    "                    self.socket.start_send_unpin(frame)?;
",
    "                    self.unflushed += frame::header::HEADER_SIZE;
                    if frame.header().tag() == Tag::Data {
                        self.unflushed += frame.header().len().val() as usize;
                    }
                    self.socket.start_send_unpin(frame)?;
",
);
const CONSTANT: (&str, &str) = (
    "/// The active state of [`Connection`].
",
    "/// After how many bytes frames are flushed, though others wait to be sent. They share system calls and messages of the
/// layer below.
const MAX_UNFLUSHED: usize = 32 * 1024;

/// The active state of [`Connection`].
",
);
const FLUSH_AFTER_A_FRAME: (&str, &str) = (
    "            match self.socket.poll_flush_unpin(cx)? {
                Poll::Ready(()) => {}
                Poll::Pending => {}
            }

",
    "            if self.unflushed >= MAX_UNFLUSHED {
                self.unflushed = 0;
                let _ = self.socket.poll_flush_unpin(cx)?;
            }

",
);
const FLUSH_BEFORE_READING: (&str, &str) = (
    "            if self.pending_read_frame.is_none() {
",
    "            // No frame waits to be sent, or the socket has no room.
            self.unflushed = 0;
            let _ = self.socket.poll_flush_unpin(cx)?;

            if self.pending_read_frame.is_none() {
",
);
