"""Family `elastic`: elastic parameter-server and Ring-AllReduce jobs, weighted completion time."""
