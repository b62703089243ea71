import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  freePort,
  type ServiceKey,
  serviceToken,
  setUp,
  startLatchkey,
} from "../support/latchkey.ts"
import { type Client, call, cheapHash, firstPassword } from "../support/load.ts"

/**
 * A data directory that was set up, with its own port; tests start the server, also repeatedly.
 * `settings` are lines of its latchkey.toml.
 */
export async function openServerFolder(folder: string, settings = "") {
  const data = join(folder, "data")
  const furnish = () => {
    mkdirSync(data, { recursive: true, mode: 0o700 })
    if (settings) writeFileSync(join(data, "latchkey.toml"), settings)
  }
  furnish()
  const port = await freePort()
  const url = `http://localhost:${port}`
  const key = await setUp(data, url)
  return {
    data,
    file: join(data, "latchkey.db"),
    start: () => startLatchkey({ data, port }),
    /** Deletes everything in it except its settings. */
    empty: () => {
      rmSync(data, { recursive: true })
      furnish()
    },
    client: () => openClient(url, key),
  }
}

/** A client of a running server, as the service account that setup created. */
export async function openClient(url: string, key: ServiceKey): Promise<Client> {
  const token = await serviceToken(url, key)
  const bare = { url, key, token, orgId: "", passwordHash: await cheapHash(firstPassword) }
  const { body } = await call(bare, "org.ListOrganizations", {})
  return { ...bare, orgId: body.result[0].id }
}
