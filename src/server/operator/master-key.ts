import type { StartInput } from "../../boot/running.ts"
import { prepareMasterKey } from "../../store/index.ts"
import { openServices } from "../services.ts"

/** Makes a data directory readable with an additional master key until one of them is used. */
export async function prepareMaster(start: StartInput, next: Uint8Array): Promise<void> {
  const { store, random } = openServices(start)
  try {
    prepareMasterKey(store, random, { from: start.master, to: next })
  } finally {
    await store.close()
  }
}

/** Opens a data directory with its master key, which becomes the only one. */
export async function takeMaster(start: StartInput): Promise<void> {
  await openServices(start).store.close()
}
