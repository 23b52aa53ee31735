not_there.v
