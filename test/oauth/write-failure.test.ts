// A renewal that can't be written to the file. With several nodes no node depends on its own file,
// so this covers only a file-based log.
import { expect, test } from "vitest"
import {
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

const scope = "openid profile email offline_access"

test("a renewal that can't be written did not happen: the token stays valid", async () => {
  const provider = await openProvider()
  const client = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
  const signedIn = await browserOf(provider).signIn(authorizePath(client.id, { scope }))
  const basic = `${client.id}:${client.secret}`
  const code = codeFields(responseOf(signedIn).code ?? "", {})
  const token = String((await sendTokenRequest(provider, code, basic)).answer.refresh_token)
  const fields = { grant_type: "refresh_token", refresh_token: token }
  const refresh = () => sendTokenRequest(provider, fields, basic)
  const { database } = provider.store
  database.run("PRAGMA foreign_keys = ON")
  database.run("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
  database.run("CREATE TABLE child (id REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
  const doomed = refresh().then(
    () => "answered",
    () => "failed",
  )
  // The commit of the transaction that writes the renewal fails.
  while (!database.inTransaction) await Promise.resolve()
  database.run("INSERT INTO child VALUES (7)")
  expect(await doomed).toBe("failed")
  database.run("DROP TABLE child")
  provider.clock.advance(11_000)
  expect((await refresh()).status).toBe(200)
  await provider.close()
})
