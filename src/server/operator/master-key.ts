import type { Start } from "../../boot/running.ts"
import { prepareMasterKey } from "../../store/index.ts"
import { openServices } from "../services.ts"

/** Has a data folder open with another master key, too, until either is used. */
export async function prepareMaster(start: Start, next: Uint8Array): Promise<void> {
  const { store, random } = openServices(start)
  try {
    prepareMasterKey(store, random, { from: start.master, to: next })
  } finally {
    await store.close()
  }
}

/** Opens a data folder with its master key, which then is the only one. */
export async function takeMaster(start: Start): Promise<void> {
  await openServices(start).store.close()
}
