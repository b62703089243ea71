import type { ReactNode } from "react"

type Key = { readonly id: string; readonly name: string }

type KeyListProps<K extends Key> = {
  readonly keys: readonly K[]
  readonly none: string
  readonly remove: (key: K) => ReactNode
  /** What else can be done with one. */
  readonly more?: (key: K) => ReactNode
}

/** Keys by their names, each with what removes it. */
export function KeyList<K extends Key>({ keys, none, remove, more }: KeyListProps<K>) {
  if (keys.length === 0) return <p className="quiet">{none}</p>
  return (
    <ul className="way-list">
      {keys.map((key) => (
        <li key={key.id}>
          <bdi className="way-name">{key.name}</bdi>
          <div className="row">
            {more?.(key)}
            {remove(key)}
          </div>
        </li>
      ))}
    </ul>
  )
}
