"""What each ready-made graph can be told on a command line, and the graph that it then is."""
