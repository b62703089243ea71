const units = ["B", "kB", "MB", "GB", "TB"] as const

/**
 * Formats a size in bytes with a unit that leaves one to three digits before the point: 950 B, 1.5
 * kB.
 */
export function formatSize(bytes: number): string {
  let [value, unit] = [bytes, 0]
  // What would be rounded to 1000 uses the next unit.
  while (Math.round(value) >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  const digits = unit > 0 && value < 9.95 ? 1 : 0
  return `${Number(value.toFixed(digits))} ${units[unit]}`
}
