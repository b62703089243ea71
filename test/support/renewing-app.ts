// A page that renews its sign-in in a frame, with a third-party client library.
import { ErrorResponse, UserManager } from "oidc-client-ts"

type Settings = { readonly authority: string; readonly clientId: string }

const managerOf = ({ authority, clientId }: Settings) =>
  new UserManager({
    authority,
    client_id: clientId,
    scope: "openid profile",
    redirect_uri: `${location.origin}/callback`,
    automaticSilentRenew: false,
    silentRequestTimeoutInSeconds: 20,
  })

/** Redirects the browser to the sign-in. */
const signIn = (settings: Settings) => managerOf(settings).signinRedirect()

/** At the redirect URI, in the window or in a frame. */
const finish = async (settings: Settings) => {
  await managerOf(settings).signinCallback()
}

/** The signed-in user that a frame finds, or the received error. */
async function renew(settings: Settings): Promise<string> {
  try {
    const user = await managerOf(settings).signinSilent()
    return `signed in: ${user?.profile.preferred_username}`
  } catch (cause) {
    if (cause instanceof ErrorResponse) return String(cause.error)
    throw cause
  }
}

export const steps = { signIn, finish, renew }
