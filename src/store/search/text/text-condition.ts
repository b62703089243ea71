/** How to compare a text; in a column ending in `_folded` the value is folded, too. */
export type TextMethod = "equals" | "starts_with" | "contains" | "ends_with"

/** A comparison of a column with a value, folded like the column. */
export type TextComparison = {
  readonly column: string
  readonly method: TextMethod
  readonly value: string
}

/** A condition that is true if any of its comparisons is. */
export type TextCondition = {
  /** Its placeholder in a statement. */
  readonly name: string
  readonly comparisons: readonly TextComparison[]
}
