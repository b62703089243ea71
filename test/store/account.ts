// A small module for tests of the store: accounts with a login name, an address, and an end.
import type { Call } from "../../src/kernel/context.ts"
import { Fault } from "../../src/kernel/fault.ts"
import {
  type AnyAggregate,
  aggregate,
  type Event,
  integer,
  nullable,
  type OpenOptions,
  openStore,
  type RowOf,
  type Store,
  table,
  text,
  type View,
  view,
} from "../../src/store/index.ts"
import { temporaryFolder } from "../support/latchkey.ts"

export type AccountEvent =
  | Event<"account.opened", { name: string }, { email: string }>
  | Event<"account.renamed", { name: string }>
  | Event<"account.moved", Record<never, never>, { email: string }>
  | Event<"account.reserved", { code: string }>
  | Event<"account.erased">

export type Account = {
  readonly status: "absent" | "open" | "erased"
  readonly name: string
  readonly email: string | null
}

const absent: Account = { status: "absent", name: "", email: null }

export const account = aggregate<AccountEvent, Account>({
  stream: "account",
  initial: absent,
  evolve: {
    "account.opened": (_, { data, private: secret }) => ({
      status: "open",
      name: data.name,
      email: secret?.email ?? null,
    }),
    "account.renamed": (state, { data }) => ({ ...state, name: data.name }),
    "account.moved": (state, event) => ({ ...state, email: event.private?.email ?? null }),
    "account.reserved": (state) => state,
    "account.erased": () => ({ status: "erased", name: "", email: null }),
  },
})

const claimName = (key: string) =>
  ({
    take: "name",
    key,
    taken: { id: "account.name_taken", message: `${key} is taken; choose another name` },
  }) as const

export const openAccount = account.command<{ name: string; email?: string }>((state, input) => {
  if (state.status !== "absent") throw new Fault("already_exists", "account.exists", "It exists.")
  const { name, email = `${name}@example.com` } = input
  return [{ type: "account.opened", data: { name }, private: { email }, claims: [claimName(name)] }]
})

export const renameAccount = account.command<string>((state, name) => {
  if (state.status !== "open") throw new Fault("not_found", "account.missing", "There is none.")
  if (state.name === name) return []
  const claims = [{ release: "name", key: state.name }, claimName(name)]
  return [{ type: "account.renamed", data: { name }, claims }]
})

/** Erases the previous address. */
export const moveAccount = account.command<string>((_, email) => [
  {
    type: "account.moved",
    data: {},
    private: { email },
    erase: { types: ["account.opened", "account.moved"] },
  },
])

/** Reserves a code until a time, in ms UTC. */
export const reserveCode = account.command<{ code: string; expires: number }>((_, input) => {
  const { code, expires } = input
  const taken = { id: "account.code_taken", message: "The code is taken; take another." }
  const claims = [{ take: "code", key: code, expires, taken }]
  return [{ type: "account.reserved", data: { code }, claims }]
})

export const eraseAccount = account.command((state) => [
  {
    type: "account.erased",
    data: {},
    erase: {},
    claims: [{ release: "name", key: state.name }],
  },
])

/** Stores a blob with an account. */
export const storeFile = account.command<string>((_, text) => [
  {
    type: "account.reserved",
    data: { code: "" },
    blobs: [{ put: "portrait", bytes: new Uint8Array(Buffer.from(text)) }],
  },
])

const accountTable = table(
  "accounts",
  { id: text(), name: text(), email: nullable(text()), changed: integer() },
  { key: ["id"], indexes: { by_name: ["name"] } },
)

export type AccountRow = Omit<RowOf<typeof accountTable>, "changed">

export const accounts = view<AccountEvent>({
  name: "account",
  tables: [accountTable],
  on: {
    "account.opened": (db, { id, data: { name }, private: secret, time }) =>
      accountTable.insert(db, { id, name, email: secret?.email ?? null, changed: time }),
    "account.renamed": (db, { id, data: { name }, time }) =>
      accountTable.update(db, { id }, { name, changed: time }),
    "account.moved": (db, { id, private: secret, time }) =>
      accountTable.update(db, { id }, { email: secret?.email ?? null, changed: time }),
    "account.erased": (db, { id }) => accountTable.remove(db, { id }),
  },
})

export const allAccounts = accountTable.select(["id", "name", "email"], "ORDER BY id")

export const modules = { aggregates: [account], views: [accounts] } as const

/** Opens a file with other modules than usual, or to get its error. */
export function openFile(
  file: string,
  parts: {
    readonly aggregates?: readonly AnyAggregate[]
    readonly views?: readonly View[]
    readonly notReady?: (view: string, cause: unknown) => void
    readonly ready?: NonNullable<OpenOptions["ready"]>
    readonly trouble?: NonNullable<OpenOptions["trouble"]>
    readonly statesRebuilt?: NonNullable<OpenOptions["statesRebuilt"]>
    readonly workers?: NonNullable<OpenOptions["workers"]>
  } = {},
): Store {
  const unexpected = (cause: unknown) => {
    throw cause
  }
  const notReady = (_: string, cause: unknown) => unexpected(cause)
  return openStore({ ...modules, fatal: unexpected, notReady, file, ...parts })
}

/** A file in a temporary directory. */
export function temporaryFile() {
  const folder = temporaryFolder()
  return { file: `${folder.path}/latchkey.db`, remove: folder.remove }
}

/** The rejection of a promise; the ID of a fault. */
export const rejectionOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "nothing",
    (cause: unknown) => (cause instanceof Fault ? `${cause.code} ${cause.id}` : cause),
  )

export const onInstance = (instance: string): Partial<Call> => ({ instance })
