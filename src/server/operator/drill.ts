import type { StartInput } from "../../boot/running.ts"
import { instanceIds, removedInstances } from "../../domain/instance/index.ts"
import { getSigner, signingAlgorithms, verifyJwt } from "../../domain/key/index.ts"
import type { Cx } from "../../store/index.ts"
import { openServices } from "../services.ts"

/** The result of a drill. */
export type DrillResult = { readonly instances: number; readonly signatures: number }

/**
 * Opens a data directory like a server, without serving: verifies every event, state and view row,
 * and tests every active signing key. Throws if something does not match.
 */
export async function drill(start: StartInput): Promise<DrillResult> {
  const services = openServices(start, { isCopy: true })
  const { store } = services
  try {
    const removedInstanceIds = () => removedInstances(store).map(({ instance }) => instance)
    const damage = await store.inspect({ rest: 0, gone: removedInstanceIds })
    if (damage) throw damage
    const instances = instanceIds(store)
    const signed = await Promise.all(instances.map((id) => testKeys(services.call(id, "drill"))))
    return { instances: instances.length, signatures: signed.reduce((sum, each) => sum + each, 0) }
  } finally {
    await store.close()
  }
}

async function testKeys(cx: Cx): Promise<number> {
  const algorithms = signingAlgorithms(cx)
  for (const algorithm of algorithms) {
    const typ = "drill"
    const exp = Math.floor(cx.clock.now() / 1000) + 60
    const token = await getSigner(cx, algorithm).sign({ exp }, typ)
    if (!verifyJwt(cx, token, { typ, algorithms: [algorithm] })) {
      throw new Error(`a signature of the ${algorithm} key can't be verified`)
    }
  }
  return algorithms.length
}
