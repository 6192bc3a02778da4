"""Family `edge`: parameter-server jobs in an edge-cloud network, total completion time."""
