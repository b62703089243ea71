import type { SetupRequest, SetupResult } from "../boot/setup.ts"
import { instanceIds } from "../domain/instance/index.ts"
import { firstInstance, moveInstance, setUp } from "../domain/setup/index.ts"
import type { Base } from "./base.ts"

/** Set-up by command line: the same step as the page's, without a person. */
export async function setUpByRequest(base: Base, request: SetupRequest): Promise<SetupResult> {
  const { serviceKey } = await setUp(base.call(firstInstance, "setup"), {
    publicUrl: request.publicUrl,
    organization: request.org,
    owner: {
      loginName: request.owner,
      email: request.ownerEmail,
      password: request.ownerPassword,
      ...namesFrom(request.owner),
    },
    serviceUser: request.serviceKey,
  })
  return serviceKey === undefined ? {} : { serviceKey: JSON.parse(serviceKey) }
}

/** Nobody is asked for a person's names here; the login name stands in until they are changed. */
function namesFrom(loginName: string): { readonly firstName: string; readonly lastName: string } {
  const [local = loginName] = loginName.split("@")
  const [firstName = local, ...rest] = local.split(/[._\s-]+/).filter((part) => part !== "")
  return { firstName, lastName: rest.join(" ") || firstName }
}

/** A public address in the configuration wins over the one that was set up. */
export async function followPublicUrl(base: Base, publicUrl: string | undefined): Promise<void> {
  if (publicUrl === undefined || !instanceIds(base.store).includes(firstInstance)) return
  await moveInstance(base.call(firstInstance, "config"), publicUrl)
}
