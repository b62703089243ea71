// A node that can't have the log that it is led to says why, and changes nothing.
import { rmSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { Fault } from "../../src/kernel/fault.ts"
import { needs } from "../support/prerequisite.ts"
import { modules, openAccount, openFile, temporaryFile } from "./account.ts"
import { openTestNode, testNodes } from "./node.ts"

describe.runIf(needs("postgres"))("a node refuses in plain words", () => {
  const { node, leave, on, asked, url, postgres } = testNodes(modules)
  const refused = async (parts: Partial<Parameters<typeof openTestNode>[0]>) => {
    const { file, remove } = temporaryFile()
    const cause: unknown = await openTestNode({
      ...modules,
      file,
      url: url(),
      timeoutMs: 500,
      ...parts,
    })
      .then(() => "it opened")
      .catch((each: unknown) => each)
    remove()
    return cause instanceof Fault ? `${cause.id}: ${cause.message}` : cause
  }

  test("a database that is not there, and a way that leads nowhere", async () => {
    const other = url().replace(/test\d+/, "nothing")
    expect(await refused({ url: other })).toMatch(/^store\.database_missing: .*"nothing"/)
    const nowhere = "postgres://latchkey@127.0.0.1:1/x"
    expect(await refused({ url: nowhere })).toMatch(/^store\.database_unreachable: /)
    const stranger = url().replace("latchkey@", "stranger@")
    expect(await refused({ url: stranger })).toMatch(/^store\.database_refused: .*stranger/)
  })

  test("one that may not make tables, one that only reads, one with other letters", async () => {
    await asked("CREATE ROLE guest LOGIN")
    expect(await refused({ url: url().replace("latchkey@", "guest@") })).toMatch(
      /^store\.database_denied: /,
    )
    await asked("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    const name = url().match(/test\d+/)?.[0]
    await asked(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    expect(await refused({})).toMatch(/^store\.database_read_only: /)
    expect(await refused({ url: url().replace(/test\d+/, "latin") })).toMatch(
      /^start\.database_encoding: .*LATIN1/,
    )
  })

  test("another master key, a newer version, and a log that has lost something", async () => {
    const store = await node()
    await openAccount(on(store), "1", { name: "one" })
    expect(await refused({ fingerprint: "other" })).toMatch(/^start\.master_key_wrong: /)
    const { filename } = store.database
    await leave(store)
    await asked("DELETE FROM latchkey.event; UPDATE latchkey.log SET position = 0")
    expect(await refused({ file: filename })).toMatch(/^store\.database_behind: .*position 1/)
    await asked("UPDATE latchkey.log SET schema = 99, position = 0")
    const beside = await node()
    await leave(beside)
    await asked("UPDATE latchkey.log SET oldest = 99")
    expect(await refused({})).toMatch(/^start\.database_newer: .*schema 99/)
  })

  test("a folder with a log of its own, or another one, and a part without its log", async () => {
    const { file, remove } = temporaryFile()
    const alone = openFile(file, modules)
    await openAccount(on(alone), "1", { name: "alone" })
    await alone.close()
    expect(await refused({ file })).toMatch(/^start\.log_own: /)
    remove()
    const store = await node()
    await openAccount(on(store), "1", { name: "shared" })
    const { filename } = store.database
    await leave(store)
    expect(() => openFile(filename, modules)).toThrow(/part of a log that is in PostgreSQL/)
    const empty = await postgres().database()
    expect(await refused({ file: filename, url: empty })).toMatch(/^start\.database_empty: /)
    const elsewhere = await openTestNode({ ...modules, file: `${filename}-b`, url: empty })
    await elsewhere.close()
    expect(await refused({ file: filename, url: empty })).toMatch(/^start\.database_other: /)
    rmSync(filename)
  })
})
