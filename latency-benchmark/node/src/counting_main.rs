//! The program for `explain`. It is the same as the program of main.rs, but its allocator can count.

node_kit::counting_program!(libp2p_node::main());
