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

/** What the store knows of an event beside its payload. `time` is milliseconds UTC. */
export type Envelope = {
  /** Global order; time is never order. */
  readonly position: number
  readonly instance: string
  readonly stream: string
  readonly id: string
  /** 1 for the first event of a stream. */
  readonly version: number
  readonly revision: number
  readonly time: number
  readonly editor: Editor
  /** The organisation that owns the resource; empty for what the instance owns. */
  readonly owner: string
  readonly correlation: string
}

/** Who caused an event, and through which OAuth client. */
export type Editor = { readonly user: string; readonly client: string }

export type Recorded<E extends AnyEvent> = E & Envelope

/**
 * Takes or releases a key that is unique within an instance: login names, domains, client ids.
 * `taken` is the fault a caller gets when somebody else holds the key. `expires` is ms UTC. What is
 * taken `everywhere` is unique across instances, as the names are by which they are reached.
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
 * Which privates an event makes void: those of the earlier events of its own stream, all of them
 * or of the named types only. A reducer must not need what its event erases.
 */
export type Erasure = { readonly types?: readonly string[] }

/**
 * Bytes that are kept beside the events of a stream, by a name that is unique within it. An event
 * that erases all of its stream takes them along. Streams that may be dropped have none.
 */
export type BlobChange =
  | { readonly put: string; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly drop: string }

type PrivatePart<P> = [P] extends [never] ? { readonly private?: null } : { readonly private: P }

/** An event as a decision proposes it. */
export type Draft<E extends AnyEvent> = E extends AnyEvent
  ? {
      readonly type: E["type"]
      readonly data: E["data"]
      readonly claims?: readonly ClaimChange[]
      readonly blobs?: readonly BlobChange[]
      readonly erase?: Erasure
    } & PrivatePart<Exclude<E["private"], null>>
  : never

/** A draft whose payload types are no longer known; what the log is handed. */
export type AnyDraft = {
  readonly type: string
  readonly data: object
  readonly private?: object | null
  readonly claims?: readonly ClaimChange[]
  readonly blobs?: readonly BlobChange[]
  readonly erase?: Erasure
}

/** What a command answers: where the stream now stands. Times are ms UTC. */
export type Receipt = {
  readonly id: string
  readonly version: number
  readonly position: number
  readonly created: number
  readonly changed: number
  readonly owner: string
}
