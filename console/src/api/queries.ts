/** Reads and writes of the API for components: a read is cached by its operation and what it asks. */
import {
  keepPreviousData,
  QueryClient,
  type UseQueryOptions,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { type Answer, type AnyAsk, type Ask, call, callAny, type OperationName } from "./client.ts";
import { isExact } from "./exact-json.ts";
import { Refusal } from "./refusal.ts";

export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      // The event stream says when something changed; asking again on every focus would only load the server.
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      // A browser that calls itself offline may well reach a server of its own machine or network. A request tells.
      networkMode: "always",
      refetchOnReconnect: true,
      retry: (count, error) => count < 2 && (!(error instanceof Refusal) || error.status === 0 || error.status >= 500),
    },
    // Otherwise a write made offline would wait unseen, and be done whenever the network is back, also after its form was left.
    mutations: { networkMode: "always" },
  },
});

export const keyOf = (name: OperationName, ask?: object) => (ask === undefined ? [name] : [name, ask]);

type Options<Name extends OperationName> = Pick<
  UseQueryOptions<Answer<Name>, Refusal>,
  "enabled" | "refetchInterval" | "staleTime"
> & {
  /** Shows the last answer while the next page or filter loads. */
  keep?: boolean;
  /** Where it is read in another way than by a call of its own. */
  read?: (context: { client: QueryClient; signal: AbortSignal }) => Promise<unknown>;
};

export function useRead<Name extends OperationName>(
  name: Name,
  ask: Ask<Name>,
  { keep, read, ...options }: Options<Name> = {},
) {
  return useQuery<Answer<Name>, Refusal>({
    queryKey: keyOf(name, ask),
    queryFn: (context) => (read ? (read(context) as Promise<Answer<Name>>) : call(name, ask, context.signal)),
    ...(keep && { placeholderData: keepPreviousData }),
    // A copy of a number that keeps its digits is none any more.
    ...(isExact(name) && { structuralSharing: false }),
    ...options,
  });
}

interface Written<Name extends OperationName> {
  /** Reads that the write makes old. */
  changes?: readonly OperationName[];
  onSuccess?: (answer: Answer<Name>, ask: Ask<Name>) => void;
}

/** For parts that work with any operation. */
export function useWriteAny(
  name: OperationName,
  written: Pick<Written<never>, "changes"> & { onSuccess?: (answer: unknown) => void },
) {
  return useWriting<unknown, AnyAsk>((ask) => callAny(name, ask), written);
}

export function useWrite<Name extends OperationName>(name: Name, written: Written<Name> = {}) {
  return useWriting<Answer<Name>, Ask<Name>>((ask) => call(name, ask), written);
}

interface Writing<A, Q> {
  changes?: readonly OperationName[];
  onSuccess?: (answer: A, ask: Q) => void;
}

function useWriting<A, Q>(write: (ask: Q) => Promise<A>, { changes = [], onSuccess }: Writing<A, Q>) {
  const client = useQueryClient();
  return useMutation<A, Refusal, Q>({
    mutationFn: write,
    onSuccess: async (answer, ask) => {
      onSuccess?.(answer, ask);
      await Promise.all(changes.map((read) => client.invalidateQueries({ queryKey: [read] })));
    },
  });
}
