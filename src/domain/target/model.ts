import { aggregate, type Event } from "../../store/index.ts"

/** webhook: it is told; call: its answer counts; async: it is told, and nobody waits. */
export type TargetType = "webhook" | "call" | "async"
/** How what is sent is written: as JSON, signed with a web key, or encrypted beyond that. */
export type PayloadType = "json" | "jwt" | "jwe"

export type TargetSettings = {
  readonly name: string
  readonly targetType: TargetType
  /** http or https. */
  readonly endpoint: string
  /** How long one call may take. */
  readonly timeoutMs: number
  /** Whether what the target has a say in ends where it fails; never where nobody waits. */
  readonly interruptOnError: boolean
  readonly payloadType: PayloadType
}

/** What is sent to a target may be encrypted with it; times are ms UTC, 0 for never. */
export type PublicKey = {
  /** PEM of a SubjectPublicKeyInfo (RFC 5280 §4.1). */
  readonly pem: string
  /** "SHA256:" and the hash of its DER, in base64. */
  readonly fingerprint: string
  readonly expires: number
  readonly active: boolean
  readonly created: number
  readonly changed: number
}

type Keyed = { readonly keyId: string }

export type TargetEvent =
  | Event<"target.added", TargetSettings, { readonly sealed: string }>
  | Event<
      "target.changed",
      Partial<TargetSettings> & {
        /** With a new signing key: until when the one before signs beside it, ms UTC. */
        readonly overlapUntil?: number
      },
      { readonly sealed?: string }
    >
  | Event<"target.removed">
  | Event<"target.public_key.added", Keyed & Pick<PublicKey, "pem" | "fingerprint" | "expires">>
  | Event<"target.public_key.activated", Keyed>
  | Event<"target.public_key.deactivated", Keyed>
  | Event<"target.public_key.removed", Keyed>

export type Target = TargetSettings & {
  readonly status: "absent" | "active" | "removed"
  /** Of the stream, when its settings changed last: where it does not answer, another may. */
  readonly version: number
  /** The signing key, and the one before it while that signs, too. */
  readonly sealed: string
  readonly before?: { readonly sealed: string; readonly until: number }
  readonly keys: Readonly<Record<string, PublicKey>>
  /** The users who set its endpoint, and changed its settings since; empty for no user. */
  readonly authors: readonly string[]
}

const absent: Target = {
  status: "absent",
  version: 0,
  name: "",
  targetType: "webhook",
  endpoint: "",
  timeoutMs: 0,
  interruptOnError: false,
  payloadType: "json",
  sealed: "",
  keys: {},
  authors: [],
}

/** Has one key as it is changed, and the others as they are. */
function withKey(state: Target, keyId: string, change: Partial<PublicKey>): Target {
  const known = state.keys[keyId]
  return known ? { ...state, keys: { ...state.keys, [keyId]: { ...known, ...change } } } : state
}

/** An address of another service that is called when something happens. */
export const target = aggregate<TargetEvent, Target>({
  stream: "target",
  revision: 2,
  initial: absent,
  evolve: {
    "target.added": (_, { data, private: secret, version, editor }) => ({
      ...absent,
      ...data,
      authors: [editor.user],
      status: "active",
      version,
      sealed: secret?.sealed ?? "",
    }),
    "target.changed": (
      state,
      { data: { overlapUntil, ...data }, private: secret, version, editor },
    ) => ({
      ...state,
      ...data,
      version,
      authors:
        data.endpoint === undefined ? [...new Set([...state.authors, editor.user])] : [editor.user],
      ...(overlapUntil !== undefined && {
        sealed: secret?.sealed ?? "",
        before: { sealed: state.sealed, until: overlapUntil },
      }),
    }),
    "target.removed": () => ({ ...absent, status: "removed" }),
    "target.public_key.added": (state, { data: { keyId, ...key }, time }) => ({
      ...state,
      keys: { ...state.keys, [keyId]: { ...key, active: false, created: time, changed: time } },
    }),
    "target.public_key.activated": (state, { data: { keyId }, time }) =>
      withKey(state, keyId, { active: true, changed: time }),
    "target.public_key.deactivated": (state, { data: { keyId }, time }) =>
      withKey(state, keyId, { active: false, changed: time }),
    "target.public_key.removed": (state, { data: { keyId } }) => {
      const { [keyId]: _, ...keys } = state.keys
      return { ...state, keys }
    },
  },
})

export const isThere = ({ status }: Target): boolean => status === "active"

/** A target, or all that another execution calls, by its condition. */
export type Entry = { readonly type: "target" | "include"; readonly target: string }

export type ExecutionEvent =
  | Event<"execution.set", { readonly targets: readonly Entry[] }>
  | Event<"execution.removed">

/** What is called at a condition, in this order; without any it does nothing. */
export type Execution = {
  readonly targets: readonly Entry[]
  /** The user who set them last; empty for no user. */
  readonly author: string
}

/** The id is that of the condition. */
export const execution = aggregate<ExecutionEvent, Execution>({
  stream: "execution",
  revision: 2,
  initial: { targets: [], author: "" },
  evolve: {
    "execution.set": (_, { data: { targets }, editor }) => ({ targets, author: editor.user }),
    "execution.removed": (_, { editor }) => ({ targets: [], author: editor.user }),
  },
})
