import type { Cx } from "../../store/index.ts"
import { updateApplication } from "../app/index.ts"
import { keepPrimary, requireInstance, setPublicUrl } from "../instance/index.ts"
import { consoleUris } from "./provision.ts"

/**
 * Changes the public URL of the instance and of the console; does nothing if it is unchanged. With
 * `keep`, the previous name becomes an additional domain.
 */
export async function changePublicUrl(cx: Cx, publicUrl: string, keep = false): Promise<void> {
  const own = requireInstance(cx)
  if (own.publicUrl === publicUrl) return
  await cx.store.transact(cx, (tx) => {
    if (keep) keepPrimary.within(tx, tx.instance)
    setPublicUrl.within(tx, tx.instance, publicUrl)
    updateApplication.within(tx, own.consoleAppId, { oidc: consoleUris(publicUrl) })
  })
}
