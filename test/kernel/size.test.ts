import { expect, test } from "vitest"
import { formatSize } from "../../src/kernel/text/size.ts"

test.each([
  [0, "0 B"],
  [1, "1 B"],
  [999, "999 B"],
  [1000, "1 kB"],
  [4096, "4.1 kB"],
  [9949, "9.9 kB"],
  [9951, "10 kB"],
  [40_960, "41 kB"],
  [999_499, "999 kB"],
  [999_500, "1 MB"],
  [1_234_567, "1.2 MB"],
  [456_000_000, "456 MB"],
  [12_300_000_000, "12 GB"],
  [5e15, "5000 TB"],
])("%i bytes are %s", (bytes, values) => {
  expect(formatSize(bytes)).toBe(values)
})
