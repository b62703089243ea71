/** Counts the entries added to maps, including those of copied maps, until it is stopped. */
export function countMapEntries(): readonly [count: () => number, stop: () => void] {
  const { set } = Map.prototype
  let count = 0
  Map.prototype.set = function (key, value) {
    count++
    return set.call(this, key, value)
  }
  return [
    () => count,
    () => {
      Map.prototype.set = set
    },
  ]
}
