// A process that writes to a store until it is done or killed: `writer.ts FOLDER ACCOUNTS`. Each
// account comes by one step of two events; when that is acknowledged, the file `acks` is cut to
// the account's number. That cut is the sign in the recording of the disk.
import { ftruncateSync, openSync } from "node:fs"
import { join } from "node:path"
import { systemClock } from "../../../src/kernel/clock.ts"
import { systemRandom } from "../../../src/kernel/crypto/random.ts"
import type { Secrets } from "../../../src/kernel/crypto/secret.ts"
import { idsOf } from "../../../src/kernel/id.ts"
import type { Cx } from "../../../src/store/index.ts"
import { eraseAccount, openAccount, openFile, renameAccount } from "../../store/account.ts"
import { nowhere } from "../../support/outside.ts"

const [folder = "", accounts = "0"] = process.argv.slice(2)
const acks = openSync(join(folder, "acks"), "w")
const store = openFile(join(folder, "latchkey.db"))
const cx: Cx = {
  store,
  clock: systemClock,
  ids: idsOf(systemClock),
  random: systemRandom,
  secrets: noSecrets(),
  outside: nowhere,
  warn: () => {},
  instance: "i1",
  caller: { kind: "system", name: "writer" },
  requestId: "r",
  languages: [],
}
let next = 1

await Promise.all(Array.from({ length: 32 }, write))
await store.close()

async function write(): Promise<void> {
  while (next <= Number(accounts)) {
    const number = next++
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

/** Accounts have none. */
function noSecrets(): Secrets {
  const refuse = () => {
    throw new Error("accounts have no secrets")
  }
  return { seal: refuse, open: refuse, hash: refuse, matches: refuse, signer: refuse }
}
