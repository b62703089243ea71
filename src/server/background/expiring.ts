import { expireApplications } from "../../domain/app/index.ts"
import type { ServerServices } from "../services.ts"
import { startHourly } from "./hourly.ts"

/** Deletes unused applications that registered themselves. */
export const startApplicationExpiry = (services: ServerServices) =>
  startHourly(services, {
    name: "application-expiry",
    tasks: [expireApplications],
    failureMessage: "unused applications of instance {instance} could not be deleted: {cause}",
  })
