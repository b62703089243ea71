import { afterAll, beforeAll, describe } from "vitest"
import { type Postgres, startPostgres } from "../support/postgres.ts"
import { needs } from "../support/prerequisite.ts"
import { temporaryFile } from "./account.ts"
import { logConformance } from "./conformance.ts"
import { openTestNode } from "./node.ts"

describe.runIf(needs("postgres"))("PostgreSQL", () => {
  let postgres: Postgres
  beforeAll(() => {
    postgres = startPostgres()
  })
  afterAll(() => postgres.remove())

  logConformance("the log in PostgreSQL", async (modules) => {
    const { file, remove } = temporaryFile()
    const store = await openTestNode({ ...modules, file, url: await postgres.database() })
    return {
      store,
      close: async () => {
        await store.close()
        remove()
      },
    }
  })
})
