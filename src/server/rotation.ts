import { instanceIds } from "../domain/instance/index.ts"
import { rotateKeys } from "../domain/key/index.ts"
import type { Timer } from "../kernel/clock.ts"
import type { Base } from "./base.ts"

const every = 3_600_000

/** Looks at the keys of every instance now and each hour, until it is stopped. */
export function keepRotating(base: Base): { readonly stop: () => Promise<void> } {
  let timer: Timer | undefined
  let stopped = false
  let working: Promise<void> = Promise.resolve()
  const turn = () => {
    working = rotateAll(base).then(() => {
      if (!stopped) timer = base.clock.after(every, turn)
    })
  }
  turn()
  return {
    stop: async () => {
      stopped = true
      timer?.stop()
      await working
    },
  }
}

/** What fails for one instance is logged and comes up again; the others don't wait for it. */
async function rotateAll(base: Base): Promise<void> {
  for (const instance of instanceIds(base.store)) {
    await rotateKeys(base.call(instance, "key-rotation")).catch((cause) =>
      base.log.error("the web keys of instance {instance} could not be rotated: {cause}", {
        instance,
        cause: String(cause),
      }),
    )
  }
}
