import type { ReactNode } from "react"
import { ConfirmButton } from "../form/index.ts"
import { KeyDates, type KeyDatesProps } from "../list/index.ts"
import { thenSignIn } from "./sign-in-again.ts"

type Key = {
  readonly id: string
  readonly name: string
  readonly creationDate?: KeyDatesProps["added"]
  readonly lastUsedDate?: KeyDatesProps["used"]
}

type KeyListProps<K extends Key> = {
  readonly keys: readonly K[]
  /** Name of a key without a name. */
  readonly unnamed?: string
  /** Label of the remove button, if not the default, and the consequence of removing. */
  readonly removeLabel?: string
  readonly consequence: string
  readonly remove: (key: K) => Promise<unknown>
  /** Additional actions for a key. */
  readonly extraActions?: (key: K) => ReactNode
}

/** A list of keys by name, each with a remove button that also ends its sessions. */
export function KeyList<K extends Key>({
  keys,
  unnamed = "",
  remove,
  extraActions: more,
  removeLabel,
  consequence,
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
              subject={key.name || unnamed}
              {...(removeLabel !== undefined && { label: removeLabel })}
              consequence={consequence}
              act={() => thenSignIn(remove(key))}
            />
          </div>
        </li>
      ))}
    </ul>
  )
}
