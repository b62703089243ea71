// A process that writes to a store until it is done or killed: `writer.ts FOLDER ACCOUNTS`. Each
// account is one transaction of two events; when it is acknowledged, the file `acks` is truncated
// to the account's number, which marks the acknowledgment in the recording.
import { ftruncateSync, openSync } from "node:fs"
import { join } from "node:path"
import { systemClock } from "../../../src/kernel/clock.ts"
import { systemRandom } from "../../../src/kernel/crypto/random.ts"
import type { Secrets } from "../../../src/kernel/crypto/secret.ts"
import { createIds } from "../../../src/kernel/id.ts"
import type { Cx } from "../../../src/store/index.ts"
import { eraseAccount, openAccount, openFile, renameAccount } from "../../store/account.ts"
import { unreachableOutside } from "../../support/outside.ts"

const [folder = "", accounts = "0"] = process.argv.slice(2)
const acks = openSync(join(folder, "acks"), "w")
const store = openFile(join(folder, "latchkey.db"))
const cx: Cx = {
  store,
  clock: systemClock,
  ids: createIds(systemClock),
  random: systemRandom,
  secrets: createNoSecrets(),
  outside: unreachableOutside,
  warn: () => {},
  instance: "i1",
  caller: { kind: "system", name: "writer" },
  requestId: "r",
  languages: [],
}
let nextAccount = 1

await Promise.all(Array.from({ length: 32 }, writeAccounts))
await store.close()

async function writeAccounts(): Promise<void> {
  while (nextAccount <= Number(accounts)) {
    const number = nextAccount++
    const id = `${number}`
    await store.transact(cx, (tx) => {
      openAccount.within(tx, id, { name: `name ${number}` })
      renameAccount.within(tx, id, `renamed ${number}`)
    })
    ftruncateSync(acks, number)
    if (number % 10 === 0) await eraseAccount(cx, id)
    if (number % 400 === 0) await store.scrub()
  }
}

/** Accounts have no secrets. */
function createNoSecrets(): Secrets {
  const refuse = () => {
    throw new Error("accounts have no secrets")
  }
  return { seal: refuse, open: refuse, hash: refuse, matches: refuse, signer: refuse }
}
