/** How a text is compared; in a column whose name ends in `_folded` with the value folded, too. */
export type TextMethod = "equals" | "starts_with" | "contains" | "ends_with"

/** A comparison of a column with a value, folded as the column is. */
export type TextComparison = {
  readonly column: string
  readonly method: TextMethod
  readonly value: string
}

/** A condition that is true where any of some comparisons is. */
export type TextCondition = {
  /** Its placeholder in a statement. */
  readonly name: string
  readonly comparisons: readonly TextComparison[]
}
