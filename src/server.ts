import type { Running, Start } from "./boot/running.ts"
import { type SetupRequest, setupRequest } from "./boot/setup.ts"
import { keepSetupLink } from "./boot/setup-link.ts"
import { instanceIds } from "./domain/instance/index.ts"
import { localOrigin } from "./kernel/address.ts"
import { startBackground } from "./server/background.ts"
import { openBase } from "./server/base.ts"
import { houseOf } from "./server/house.ts"
import { keepInspecting } from "./server/inspecting.ts"
import { type Listener, listenGrpc, listenHttp } from "./server/listener.ts"
import { reactors } from "./server/rooms.ts"
import { keepRotating } from "./server/rotation.ts"
import { followPublicUrl, setUpByRequest } from "./server/setup.ts"
import { keepSweeping } from "./server/sweeping.ts"
import { setupTicket } from "./server/ticket.ts"

/** Opens the data folder, answers on both listeners, and says where. */
export async function serve(start: Start): Promise<Running> {
  const { config, folder } = start
  const base = openBase(start)
  await followPublicUrl(base, config.publicUrl)
  const ticket = setupTicket(base.random, {
    open: instanceIds(base.store).length === 0,
    closed: () => keepSetupLink(folder, undefined),
  })
  const house = houseOf({ base, ticket, upstream: localOrigin(config.listen) })

  const listeners: Listener[] = []
  const working: { readonly stop: () => Promise<void> }[] = []
  const stop = async () => {
    await Promise.all(listeners.map((each) => each.stop()))
    await Promise.all(working.map((each) => each.stop()))
    await base.store.close()
  }
  try {
    listeners.push(await listenGrpc(house, config.grpcListen))
    listeners.unshift(listenHttp(house, config.listen, base.clock))
    // Whoever finds the port taken has done nothing yet.
    const background = startBackground(base, reactors(base.call, base.outbound), config)
    working.push(background)
    working.push(keepRotating(base))
    working.push(keepInspecting(base))
    working.push(keepSweeping(base, background.reactors.passed))
  } catch (cause) {
    await stop()
    throw cause
  }
  const url = localOrigin({ ...config.listen, port: listeners[0]?.port ?? config.listen.port })
  const link = () => `${config.publicUrl ?? url}/setup#${ticket.renew()}`

  return {
    url,
    ...(ticket.isOpen() ? { setupUrl: link() } : {}),
    stop,
    control: {
      "setup-link": async () => {
        const fresh = link()
        keepSetupLink(folder, fresh)
        return fresh
      },
      setup: async (input) => {
        await setUpByRequest(base, setupRequest.parse(input))
        ticket.close()
      },
    },
  }
}

/** Sets up without serving: opens the store, takes the one step, closes it. */
export async function setup(start: Start, request: SetupRequest): Promise<void> {
  const base = openBase(start)
  try {
    await setUpByRequest(base, request)
  } finally {
    await base.store.close()
  }
}
