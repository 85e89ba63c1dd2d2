lane_player_dpi.v
lane_player_vpi.v
lane_player.v
