import type { ReactNode } from "react"

export type Column<Row> = {
  readonly label: string
  readonly cell: (row: Row) => ReactNode
  /** Whether the rows stand in its order; a column that can't be chosen for that says nothing. */
  readonly sorted?: "ascending" | "descending" | "none"
  /** Sorts by it, or the other way round. */
  readonly turn?: () => void
}

type TableProps<Row> = {
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
}

/** Rows with the name first, whose link covers the row; on a phone every row is a card. */
export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  return (
    <table className="table">
      <caption className="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ label, sorted, turn }) => (
            <th scope="col" key={label} aria-sort={sorted}>
              {turn ? (
                <button type="button" className="table-sort" onClick={turn}>
                  {label}
                </button>
              ) : (
                label
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map((column) => (
              <td key={column.label} data-label={column.label}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
