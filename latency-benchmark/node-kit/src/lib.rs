//! What every node program has in common, whatever its network stack: how it is started and reports, what is
//! observed in central while it works, the loop that cuts slices out of that, and the tables that they become.
//! `run_format::protocol` says what passes between a node program and the tool that starts it.

pub mod central;
mod connected;
mod evidence;
mod measure;
mod messages;
mod observe;
mod pace;
mod parent;
mod run_writer;

pub use self::{
    central::Central,
    measure::{
        measure_beside_tcp,
        transactions::{
            Transaction, TransactionLog, Transactions, TurnSwitch, TurnTaker, transaction_log,
        },
    },
    messages::{Deliveries, Publisher},
    observe::{
        activity::ConnectionCounts,
        log::{Log, LogReader},
        process::{Observee, this_thread},
        requests::RequestLog,
    },
    pace::{MOST_UNANSWERED, ask_at_pace, refuse_unless},
    parent::{NodeProgram, Parent, announce, described, main},
};
