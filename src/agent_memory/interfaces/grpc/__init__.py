"""gRPC: every operation of the table as a method with typed messages. `server.start` opens the door."""
