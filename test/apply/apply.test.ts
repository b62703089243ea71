// What is asked of a server to find out what differs, and what is refused without asking.
import type { JsonObject } from "@bufbuild/protobuf"
import { expect, test } from "vitest"
import type { CallApi } from "../../src/apply/api-client.ts"
import { apply } from "../../src/apply/apply.ts"

/** A server with an organisation that has ten thousand people in it; notes what it is asked. */
function server() {
  const asked: (readonly [string, JsonObject])[] = []
  const call: CallApi = async ({ name }, request) => {
    asked.push([name, request])
    if (name === "ListOrganizations") return { result: [{ id: "1", name: "Acme" }] }
    if (name !== "ListUsers") throw new Error(`${name} is not expected`)
    const named = JSON.stringify(request).match(/(?<="userName":")\w+/g) ?? []
    return { result: named.map((username) => ({ userId: username, username, machine: {} })) }
  }
  return { asked, call }
}

const documents = (users: readonly JsonObject[]) => [
  { file: "a.yaml", content: { organizations: [{ name: "Acme", users: [...users] }] } },
]

test("people are looked for by their names, not among all there are", async () => {
  const { asked, call } = server()
  const people = Array.from({ length: 120 }, (_, at) => ({ username: `u${at}`, machine: {} }))
  const planned = await apply(call, documents(people), { isPlan: true })
  expect(planned).toEqual({ steps: [], beyond: [] })
  expect(asked.map(([name]) => name)).toEqual(["ListOrganizations", ...Array(3).fill("ListUsers")])
})

test("somebody without a name is refused in our words", async () => {
  const { call } = server()
  const work = apply(call, documents([{ machine: { name: "R" } }]), { isPlan: true })
  await expect(work).rejects.toThrow("a.yaml: a user of organisation Acme has no username")
})
