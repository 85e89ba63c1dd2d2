../lib/crc32c.v
acquisition_packer.v
