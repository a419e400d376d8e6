//! The program that counts for `--gate`.

node_kit::gate_program!(libp2p_node::gate::run);
