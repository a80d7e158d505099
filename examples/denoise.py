"""One step of a diffusion sampler that gathers its constants on the device (DDIM with noise, Song et al., 2021).

table: [5, steps], the schedule. t: integer timesteps, one per sample, with a shape that broadcasts against the images.
No value leaves the device, so a CUDA graph can capture the step.
"""


def denoise(eps, sample, noise, table, t):
    x0 = clamp((sample - table[0, t] * eps) * table[1, t], -1, 1)
    return table[2, t] * x0 + table[3, t] * sample + table[4, t] * noise
