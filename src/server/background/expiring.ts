import { expireApplications } from "../../domain/app/index.ts"
import type { ServerServices } from "../services.ts"
import { keepHourly } from "./hourly.ts"

/** Removes applications that registered themselves and that nobody uses. */
export const keepExpiring = (services: ServerServices) =>
  keepHourly(services, {
    name: "application-expiry",
    does: [expireApplications],
    failed: "unused applications of instance {instance} could not be removed: {cause}",
  })
