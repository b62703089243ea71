/** Counts what is put into maps until it is stopped, also when one is made of many. */
export function countBindings(): readonly [count: () => number, stop: () => void] {
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
