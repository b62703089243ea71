import type { ReactNode } from "react"

export type Column<Row> = {
  readonly label: string
  readonly cell: (row: Row) => ReactNode
  /** The current sort order by this column; undefined if the column isn't sortable. */
  readonly sorted?: "ascending" | "descending" | "none"
  /** Sorts by this column, or reverses the order. */
  readonly toggleSort?: () => void
}

type TableProps<Row> = {
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
}

/**
 * A table whose first column is the name, with a link that covers the row; rows are cards on small
 * screens.
 */
export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  return (
    <table className="table">
      <caption className="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ label, sorted, toggleSort }) => (
            <th scope="col" key={label} aria-sort={sorted}>
              {toggleSort ? (
                <button type="button" className="table-sort" onClick={toggleSort}>
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
