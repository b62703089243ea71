import { create, type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf"
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js"
import { methodOf, pathOf } from "./service.ts"

export type Grpc = {
  readonly call: (name: string, request: object) => Promise<any>
  readonly close: () => void
}

/** A grpc-js client for every operation of the API. */
export function openGrpc(port: number, token: string): Grpc {
  // The host identifies the instance, and the gRPC port differs.
  const client = new Client(`localhost:${port}`, credentials.createInsecure())
  const metadata = new Metadata()
  metadata.set("authorization", `Bearer ${token}`)
  return {
    call: (name, request) => unary(client, methodOf(name), { request, metadata }),
    close: () => client.close(),
  }
}

function unary(
  client: Client,
  method: DescMethod,
  { request, metadata }: { readonly request: object; readonly metadata: Metadata },
): Promise<Message> {
  const { promise, resolve, reject } = Promise.withResolvers<Message>()
  client.makeUnaryRequest(
    pathOf(method),
    (message: Message) => Buffer.from(toBinary(method.input, message)),
    (bytes) => fromBinary(method.output, bytes),
    create(method.input, request as never),
    metadata,
    (error: ServiceError | null, answer?: Message) =>
      answer ? resolve(answer) : reject(error ?? new Error("no answer came")),
  )
  return promise
}
