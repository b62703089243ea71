import type { Cx } from "../../store/index.ts"
import { changeApplication } from "../app/index.ts"
import { keepPrimary, requireInstance, setPublicUrl } from "../instance/index.ts"
import { consoleUris } from "./provision.ts"

/**
 * Moves the instance to another public address, and the console with it. Nothing happens where it
 * is the address already. With `keep` the name that it had stays one of its domains.
 */
export async function moveInstance(cx: Cx, publicUrl: string, keep = false): Promise<void> {
  const own = requireInstance(cx)
  if (own.publicUrl === publicUrl) return
  await cx.store.transact(cx, (tx) => {
    if (keep) keepPrimary.within(tx, tx.instance)
    setPublicUrl.within(tx, tx.instance, publicUrl)
    changeApplication.within(tx, own.consoleAppId, { oidc: consoleUris(publicUrl) })
  })
}
