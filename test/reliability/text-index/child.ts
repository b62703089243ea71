// Adds users and searches them by an index of their names, until it is killed.
import { addUser } from "../../../src/domain/user/index.ts"
import { aggregates, views } from "../../../src/server/modules.ts"
import { human, provision } from "../../domain/user/household.ts"
import { openTestEnvironment } from "../../support/test-environment.ts"
import { countUsers } from "./count.ts"

const folder = { path: process.argv[2] ?? "", remove: () => undefined }
const environment = openTestEnvironment({ aggregates, views, textIndexFrom: 0 }, folder)
const cx = environment.cx()
await provision(cx)
for (let count = 0; ; count++) {
  await cx.store.transact(cx, (tx) => {
    for (let each = 0; each < 50; each++) {
      const userName = `killed-${count}-${each}`
      const email = { value: `${userName}@example.com`, verified: true }
      addUser(tx, userName, human({ userName, email }))
    }
  })
  await countUsers(cx, `led-${count}-`)
  process.stdout.write(`${count}\n`)
}
