/**
 * An event of a stream: `data` is plain and never rewritten, `private` holds personal data and
 * sealed secrets and may be erased later, so every reader must accept null.
 */
export type Event<
  Type extends string,
  Data extends object = Record<never, never>,
  Private extends object | null = null,
> = {
  readonly type: Type
  readonly data: Data
  readonly private: Private | null
}

export type AnyEvent = Event<string, object, object | null>

/** What the store records for an event besides its payload. `time` is milliseconds UTC. */
export type Envelope = {
  /** The global order; times don't define an order. */
  readonly position: number
  readonly instance: string
  readonly stream: string
  readonly id: string
  /** 1 for the first event of a stream. */
  readonly version: number
  readonly revision: number
  readonly time: number
  readonly editor: Editor
  /** The organization that owns the resource; empty for resources of the instance. */
  readonly owner: string
  readonly correlation: string
}

/** The user who caused an event, and the OAuth client. */
export type Editor = { readonly user: string; readonly client: string }

export type PersistedEvent<E extends AnyEvent> = E & Envelope

/**
 * Takes or releases a key that is unique within an instance: login names, domains, client IDs.
 * `taken` is the fault if the key has another holder. `expires` is ms UTC. With `everywhere`, the
 * key is unique across instances, like host names.
 */
export type ClaimChange =
  | {
      readonly take: string
      readonly key: string
      readonly expires?: number
      readonly taken: { readonly id: string; readonly message: string }
      readonly everywhere?: true
    }
  | { readonly release: string; readonly key: string; readonly everywhere?: true }

/**
 * Which private payloads an event erases: those of earlier events of its stream, all or only of the
 * given types. Reducers must not need what their event erases.
 */
export type Erasure = { readonly types?: readonly string[] }

/**
 * Binary data stored with a stream, by a name that is unique within it. An event that erases its
 * whole stream also removes them. Transient streams have none.
 */
export type BlobChange =
  | { readonly put: string; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly drop: string }

type PrivatePart<P> = [P] extends [never] ? { readonly private?: null } : { readonly private: P }

/** An event proposed by a decision. */
export type Draft<E extends AnyEvent> = E extends AnyEvent
  ? {
      readonly type: E["type"]
      readonly data: E["data"]
      readonly claims?: readonly ClaimChange[]
      readonly blobs?: readonly BlobChange[]
      readonly erase?: Erasure
    } & PrivatePart<Exclude<E["private"], null>>
  : never

/** A draft without its payload types, as the log receives it. */
export type AnyDraft = {
  readonly type: string
  readonly data: object
  readonly private?: object | null
  readonly claims?: readonly ClaimChange[]
  readonly blobs?: readonly BlobChange[]
  readonly erase?: Erasure
}

/** The result of a command: the stream's version after it. Times are ms UTC. */
export type Receipt = {
  readonly id: string
  readonly version: number
  readonly position: number
  readonly created: number
  readonly changed: number
  readonly owner: string
}
