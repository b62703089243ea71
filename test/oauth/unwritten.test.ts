// A renewal that a file does not take. Of several nodes none decides by its own file, so this is of
// the log in the file alone.
import { expect, test } from "vitest"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
} from "./provider.ts"

const scope = "openid profile email offline_access"

test("a renewal that can't be written down did not happen: the token still counts", async () => {
  const provider = await openProvider()
  const client = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
  const signedIn = await browserOf(provider).signIn(authorizePath(client.id, { scope }))
  const basic = `${client.id}:${client.secret}`
  const code = codeFields(answerOf(signedIn).code ?? "", {})
  const token = String((await askToken(provider, code, basic)).answer.refresh_token)
  const fields = { grant_type: "refresh_token", refresh_token: token }
  const refresh = () => askToken(provider, fields, basic)
  const { database } = provider.store
  database.run("PRAGMA foreign_keys = ON")
  database.run("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
  database.run("CREATE TABLE child (id REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
  const doomed = refresh().then(
    () => "answered",
    () => "failed",
  )
  // The commit of the turn in which the renewal is written fails.
  while (!database.inTransaction) await Promise.resolve()
  database.run("INSERT INTO child VALUES (7)")
  expect(await doomed).toBe("failed")
  database.run("DROP TABLE child")
  provider.clock.advance(11_000)
  expect((await refresh()).status).toBe(200)
  await provider.close()
})
