import type { ReactNode } from "react"
import { ConfirmButton } from "../form/index.ts"
import { KeyDates, type KeyDatesProps } from "../list/index.ts"
import { andSignIn } from "./sign-in-again.ts"

type Key = {
  readonly id: string
  readonly name: string
  readonly creationDate?: KeyDatesProps["added"]
  readonly lastUsedDate?: KeyDatesProps["used"]
}

type KeyListProps<K extends Key> = {
  readonly keys: readonly K[]
  /** Of a key that has no name. */
  readonly unnamed?: string
  /** What removing is called, where it is called otherwise, and what it will do. */
  readonly label?: string
  readonly consequence: string
  readonly remove: (key: K) => Promise<unknown>
  /** What else can be done with one. */
  readonly more?: (key: K) => ReactNode
}

/** Keys by their names, each with what removes it, and every sign-in with it. */
export function KeyList<K extends Key>({
  keys,
  unnamed = "",
  remove,
  more,
  ...how
}: KeyListProps<K>) {
  if (keys.length === 0) return null
  return (
    <ul className="way-list">
      {keys.map((key) => (
        <li key={key.id}>
          <span className="way-name">
            <bdi>{key.name || unnamed}</bdi>
            {key.creationDate && <KeyDates added={key.creationDate} used={key.lastUsedDate} />}
          </span>
          <div className="row">
            {more?.(key)}
            <ConfirmButton
              needs="own"
              small
              what={key.name || unnamed}
              {...how}
              act={() => andSignIn(remove(key))}
            />
          </div>
        </li>
      ))}
    </ul>
  )
}
