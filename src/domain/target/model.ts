import { aggregate, type Event } from "../../store/index.ts"

/**
 * webhook: the response is ignored except for errors; call: the response can change the data;
 * async: the call is not awaited.
 */
export type TargetType = "webhook" | "call" | "async"
/** The format of payloads: JSON, a JWT signed with a web key, or an encrypted JWT. */
export type PayloadType = "json" | "jwt" | "jwe"

export type TargetSettings = {
  readonly name: string
  readonly targetType: TargetType
  /** http or https. */
  readonly endpoint: string
  /** The time limit of one call. */
  readonly timeoutMs: number
  /** Whether an error interrupts the operation; never for async targets. */
  readonly interruptOnError: boolean
  readonly payloadType: PayloadType
}

/** A key for encrypting payloads; times are in ms since the epoch, 0 for never. */
export type PublicKey = {
  /** PEM of a SubjectPublicKeyInfo (RFC 5280 §4.1). */
  readonly pem: string
  /** "SHA256:" and the hash of the DER form in base64. */
  readonly fingerprint: string
  readonly expires: number
  readonly active: boolean
  readonly created: number
  readonly changed: number
}

type KeyRef = { readonly keyId: string }

export type TargetEvent =
  | Event<"target.added", TargetSettings, { readonly sealed: string }>
  | Event<
      "target.changed",
      Partial<TargetSettings> & {
        /** With a new signing key: how long the previous one also signs, in ms since the epoch. */
        readonly overlapUntil?: number
      },
      { readonly sealed?: string }
    >
  | Event<"target.removed">
  | Event<"target.public_key.added", KeyRef & Pick<PublicKey, "pem" | "fingerprint" | "expires">>
  | Event<"target.public_key.activated", KeyRef>
  | Event<"target.public_key.deactivated", KeyRef>
  | Event<"target.public_key.removed", KeyRef>

export type Target = TargetSettings & {
  readonly status: "absent" | "active" | "removed"
  /** The stream version of the last settings change, which ends a pause. */
  readonly version: number
  /** The signing key, and the previous one while it also signs. */
  readonly sealed: string
  readonly before?: { readonly sealed: string; readonly until: number }
  readonly keys: Readonly<Record<string, PublicKey>>
  /** The users who set the endpoint and have changed the settings since; empty for no user. */
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

/** Updates one key and leaves the others unchanged. */
function withKey(state: Target, keyId: string, change: Partial<PublicKey>): Target {
  const known = state.keys[keyId]
  return known ? { ...state, keys: { ...state.keys, [keyId]: { ...known, ...change } } } : state
}

/** An endpoint of another service that is called for requests and events. */
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

export const isExistingTarget = ({ status }: Target): boolean => status === "active"

/** A target, or the ID of an execution whose targets are included. */
export type ExecutionEntry = { readonly type: "target" | "include"; readonly target: string }

export type ExecutionEvent =
  | Event<"execution.set", { readonly targets: readonly ExecutionEntry[] }>
  | Event<"execution.removed">

/** The targets of a condition in order; without any, nothing is called. */
export type Execution = {
  readonly targets: readonly ExecutionEntry[]
  /** The user who last set them; empty for no user. */
  readonly author: string
}

/** The ID is that of the condition. */
export const execution = aggregate<ExecutionEvent, Execution>({
  stream: "execution",
  revision: 2,
  initial: { targets: [], author: "" },
  evolve: {
    "execution.set": (_, { data: { targets }, editor }) => ({ targets, author: editor.user }),
    "execution.removed": (_, { editor }) => ({ targets: [], author: editor.user }),
  },
})
