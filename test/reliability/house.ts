import { join } from "node:path"
import { freePort, type ServiceKey, serviceToken, setUp, start } from "../support/latchkey.ts"
import { type Client, call, cheapHash, firstPassword } from "../support/load.ts"

/** A folder that was set up, on a port of its own; starting it is the test's to do, again too. */
export async function openHouse(folder: string) {
  const data = join(folder, "data")
  const port = await freePort()
  const url = `http://localhost:${port}`
  const key = await setUp(data, url)
  return {
    data,
    file: join(data, "latchkey.db"),
    start: () => start({ data, port }),
    client: () => openClient(url, key),
  }
}

/** A client of a running server, as the service user that set-up made. */
export async function openClient(url: string, key: ServiceKey): Promise<Client> {
  const token = await serviceToken(url, key)
  const bare = { url, key, token, orgId: "", passwordHash: await cheapHash(firstPassword) }
  const { body } = await call(bare, "org.ListOrganizations", {})
  return { ...bare, orgId: body.result[0].id }
}
