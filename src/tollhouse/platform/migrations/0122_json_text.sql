-- Stored JSON as a text, for whoever looks into the database: SELECT json_text(body) FROM webhook_events. What the program
-- packs is deflated (RFC 1951) with a dictionary; a template is followed by the integers for its places.

-- The dictionary of this number. It never changes.
CREATE FUNCTION json_dictionary(p_number int) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT convert_to(CASE p_number WHEN 1 THEN
           '{"error":"invalid_request","error_description":"","request_id":"","errors":[{"field":"","message":""}]}{"objec'
        || 't":"list","page":1,"limit":20,"total":0,"has_more":false,"data":[]}{"id":"","object":"withdrawal","status":"pr'
        || 'ocessing","currency":"EUR","amount":"","amount_minor":,"network_fee":"0.00","network_fee_minor":0,"system_fee"'
        || ':"0.00","system_fee_minor":0,"receiver":"","failure_code":null,"failure_message":null,{"id":"","object":"refun'
        || 'd","transaction_id":"","reason":null,"refunds":[{{"id":"","object":"payment_link","project_id":"","status":"ac'
        || 'tive","display_name":"","description":null,"amount":"","amount_minor":,"currency":"EUR","external_id":"order-"'
        || ',"success_url":"https://","cancel_url":"https://","webhook_url":"https://","metadata":{"order":""},"expires_at'
        || '":"2026-","max_payments":1,"payments_count":0,"latest_transaction_id":null,"url":"https:///pay/","quantity":1,'
        || '"unit_price":"","product_id":null,"customer":null,{"outcome":"succeed","livemode":false,"mode":"live","livemod'
        || 'e":true},{"object":"balance","currency":"EUR","decimals":2,"available":"0.00","available_minor":0,"pending":"0'
        || '.00","pending_minor":0,"reserved":"0.00","reserved_minor":0,"debt":"0.00","debt_minor":0,"total":"0.00","total'
        || '_minor":0,"reserved_breakdown":{"withdrawals":"0.00","withdrawals_minor":0,"balance_payments":"0.00","balance_'
        || 'payments_minor":0,"refunds":"0.00","refunds_minor":0,"fulfillments":"0.00","fulfillments_minor":0},"version":,'
        || '"updated_at":"2026-","mode":"test"},"source":{"type":"transaction","id":"","status":"succeeded","version":3},"'
        || 'entries":[{"id":"","object":"ledger_entry","ledger_transaction_id":"","account":"available","direction":"credi'
        || 't","amount":"0.00","amount_minor":0,"signed_amount_minor":0,"balance_after":"0.00","balance_after_minor":0,"cu'
        || 'rrency":"EUR","type":"payment","source":{"type":"transaction","id":""},"oauth_client_id":null,"description":"P'
        || 'ayment","sequence":1,"created_at":"2026-"type":"balance.updated","created_at":"2026-","mode":"test","livemode"'
        || ':false,"api_version":"v2","sequence":1,"data":{"object":{"id":"","object":"transaction","type":"payment","paym'
        || 'ent_link_id":"","project_id":"","external_id":"","status":"succeeded","amount":"","amount_minor":0,"currency":'
        || '"EUR","amount_received":"","amount_received_minor":0,"fee":"0.00","fee_minor":0,"net":"","net_minor":0,"amount'
        || '_refunded":"0.00","amount_refunded_minor":0,"overpaid":"0.00","overpaid_minor":0,"refundable":true,"refundable'
        || '_amount":"","refundable_amount_minor":0,"refund_unavailable_reason":null,"method_id":"sandbox:EUR","method_typ'
        || 'e":"sandbox","payment_details":{"network":"sandbox","asset":"EUR","pay_amount":null,"pay_amount_onchain":null,'
        || '"address":null,"tx_hashes":[],"confirmations":null,"required_confirmations":null,"rate":null,"payer_hint":null'
        || '},"failure_code":null,"failure_message":null,"refund_required_reason":null,"refund_required_amount":"0.00","re'
        || 'fund_required_amount_minor":0,"late":false,"chargeback":null,"refunds":[],"timeline":[{"status":"pending","at"'
        || ':"2026-","detail":null},{"status":"confirming","at":"2026-","detail":null},{"status":"succeeded","at":"2026-",'
        || '"detail":null}],"metadata":{},"mode":"live","livemode":true,"created_at":"2026-","updated_at":"2026-","succeed'
        || 'ed_at":"2026-","version":1}}}'
    END, 'UTF8')
$$;

-- So many bits from this one on, the first as the least significant.
CREATE FUNCTION deflate_bits(p_data bytea, p_at int, p_bits int) RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT coalesce(sum(get_bit(p_data, p_at + n) << n), 0)::int FROM generate_series(0, p_bits - 1) AS n
$$;

-- A Huffman code by the lengths of its symbols: how many have each length from 1 to 15, then the symbols in their order.
CREATE FUNCTION deflate_code(p_lengths int[]) RETURNS int[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT (SELECT array_agg((SELECT count(*)::int FROM unnest(p_lengths) AS l WHERE l = n) ORDER BY n)
            FROM generate_series(1, 15) AS n)
           || (SELECT array_agg(nth::int - 1 ORDER BY length, nth)
               FROM unnest(p_lengths) WITH ORDINALITY AS l (length, nth) WHERE length > 0)
$$;

-- The symbol that begins at this bit, and the bit after it.
CREATE FUNCTION deflate_symbol(p_data bytea, p_code int[], INOUT p_at int, OUT symbol int)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    v_code int := 0;
    v_first int := 0;
    v_index int := 0;
BEGIN
    FOR v_length IN 1..15 LOOP
        v_code := v_code + get_bit(p_data, p_at);
        p_at := p_at + 1;
        IF v_code < v_first + p_code[v_length] THEN
            symbol := p_code[16 + v_index + v_code - v_first];
            RETURN;
        END IF;
        v_index := v_index + p_code[v_length];
        v_first := (v_first + p_code[v_length]) * 2;
        v_code := v_code * 2;
    END LOOP;
    RAISE EXCEPTION 'stored JSON is damaged' USING ERRCODE = 'data_corrupted';
END $$;

-- The lengths of the two codes that a block brings, those of literals first; how many these are, and the bit after them.
CREATE FUNCTION deflate_lengths(p_data bytea, INOUT p_at int, OUT lengths int[], OUT literals int)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    c_order constant int[] := '{16,17,18,0,8,7,9,6,10,5,11,4,12,3,13,2,14,1,15}';
    v_all int := 258 + deflate_bits(p_data, p_at, 5) + deflate_bits(p_data, p_at + 5, 5);
    v_short int[] := array_fill(0, ARRAY[19]);
    v_count int := 4 + deflate_bits(p_data, p_at + 10, 4);
    v_symbol int;
    v_times int;
BEGIN
    literals := 257 + deflate_bits(p_data, p_at, 5);
    p_at := p_at + 14;
    FOR n IN 1..v_count LOOP
        v_short[c_order[n] + 1] := deflate_bits(p_data, p_at, 3);
        p_at := p_at + 3;
    END LOOP;
    v_short := deflate_code(v_short);
    lengths := '{}';
    WHILE cardinality(lengths) < v_all LOOP
        SELECT d.p_at, d.symbol INTO p_at, v_symbol FROM deflate_symbol(p_data, v_short, p_at) d;
        v_times := CASE v_symbol WHEN 16 THEN 3 + deflate_bits(p_data, p_at, 2)
                                 WHEN 17 THEN 3 + deflate_bits(p_data, p_at, 3)
                                 WHEN 18 THEN 11 + deflate_bits(p_data, p_at, 7) ELSE 1 END;
        p_at := p_at + CASE v_symbol WHEN 16 THEN 2 WHEN 17 THEN 3 WHEN 18 THEN 7 ELSE 0 END;
        v_symbol := CASE v_symbol WHEN 16 THEN lengths[cardinality(lengths)] WHEN 17 THEN 0 WHEN 18 THEN 0 ELSE v_symbol END;
        lengths := lengths || array_fill(v_symbol, ARRAY[v_times]);
    END LOOP;
END $$;

-- What was deflated with this dictionary, by RFC 1951.
CREATE FUNCTION inflate(p_data bytea, p_dictionary bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    c_length constant int[] :=
        '{3,4,5,6,7,8,9,10,11,13,15,17,19,23,27,31,35,43,51,59,67,83,99,115,131,163,195,227,258}';
    c_length_bits constant int[] := '{0,0,0,0,0,0,0,0,1,1,1,1,2,2,2,2,3,3,3,3,4,4,4,4,5,5,5,5,0}';
    c_distance constant int[] := '{1,2,3,4,5,7,9,13,17,25,33,49,65,97,129,193,257,385,513,769,1025,1537,2049,3073}';
    c_distance_bits constant int[] := '{0,0,0,0,1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8,9,9,10,10}';
    v_out bytea := p_dictionary;
    v_at int := 0;
    v_is_last boolean := false;
    v_kind int;
    v_lengths int[];
    v_literals int[];
    v_distances int[];
    v_symbol int;
    v_count int;
    v_back int;
BEGIN
    WHILE NOT v_is_last LOOP
        v_is_last := get_bit(p_data, v_at) = 1;
        v_kind := deflate_bits(p_data, v_at + 1, 2);
        v_at := v_at + 3;
        IF v_kind = 0 THEN  -- as it is
            v_at := (v_at + 7) / 8 * 8;
            v_count := deflate_bits(p_data, v_at, 16);
            v_out := v_out || substring(p_data FROM v_at / 8 + 5 FOR v_count);
            v_at := v_at + 32 + v_count * 8;
            CONTINUE;
        END IF;
        IF v_kind = 1 THEN
            v_lengths := array_fill(8, ARRAY[144]) || array_fill(9, ARRAY[112]) || array_fill(7, ARRAY[24])
                         || array_fill(8, ARRAY[8]) || array_fill(5, ARRAY[30]);
            v_count := 288;
        ELSE
            SELECT d.p_at, d.lengths, d.literals INTO v_at, v_lengths, v_count FROM deflate_lengths(p_data, v_at) d;
        END IF;
        v_literals := deflate_code(v_lengths[:v_count]);
        v_distances := deflate_code(v_lengths[v_count + 1:]);
        LOOP
            SELECT d.p_at, d.symbol INTO v_at, v_symbol FROM deflate_symbol(p_data, v_literals, v_at) d;
            EXIT WHEN v_symbol = 256;
            IF v_symbol < 256 THEN
                v_out := v_out || set_byte('\x00', 0, v_symbol);
                CONTINUE;
            END IF;
            v_count := c_length[v_symbol - 256] + deflate_bits(p_data, v_at, c_length_bits[v_symbol - 256]);
            v_at := v_at + c_length_bits[v_symbol - 256];
            SELECT d.p_at, d.symbol INTO v_at, v_symbol FROM deflate_symbol(p_data, v_distances, v_at) d;
            v_back := c_distance[v_symbol + 1] + deflate_bits(p_data, v_at, c_distance_bits[v_symbol + 1]);
            v_at := v_at + c_distance_bits[v_symbol + 1];
            WHILE v_count > 0 LOOP  -- what is repeated may overlap its copy
                v_out := v_out || substring(v_out FROM length(v_out) - v_back + 1 FOR least(v_count, v_back));
                v_count := v_count - least(v_count, v_back);
            END LOOP;
        END LOOP;
    END LOOP;
    RETURN substring(v_out FROM length(p_dictionary) + 1);
END $$;

CREATE FUNCTION json_text(p_stored bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    v_end int;
    v_values bigint[];
    v_json bytea := p_stored;
    v_text text := '';
    v_place text;
    v_from int;
    v_value bigint;
BEGIN
    IF substring(p_stored FOR 1) = '\x02' THEN
        v_end := 3 + get_byte(p_stored, 1) * 256 + get_byte(p_stored, 2);
        v_json := substring(p_stored FROM 4 FOR v_end - 3);
        v_values := string_to_array(btrim(convert_from(substring(p_stored FROM v_end + 1), 'UTF8')), ' ')::bigint[];
    END IF;
    IF json_dictionary(get_byte(v_json, 0)) IS NOT NULL THEN
        v_json := inflate(substring(v_json FROM 2), json_dictionary(get_byte(v_json, 0)));
    END IF;
    LOOP  -- a place is a number and a kind between two bytes that no text has
        v_from := position('\xff'::bytea IN v_json);
        EXIT WHEN v_from = 0;
        v_text := v_text || convert_from(substring(v_json FOR v_from - 1), 'UTF8');
        v_json := substring(v_json FROM v_from + 1);
        v_end := position('\xff'::bytea IN v_json);
        v_place := convert_from(substring(v_json FOR v_end - 1), 'UTF8');
        v_json := substring(v_json FROM v_end + 1);
        v_value := v_values[left(v_place, -1)::int + 1];
        v_text := v_text || CASE right(v_place, 1)
            WHEN 'n' THEN v_value::text
            WHEN 't' THEN to_char((timestamptz 'epoch' + v_value * interval '1 ms') AT TIME ZONE 'UTC',
                                  'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
            ELSE round(v_value / power(10::numeric, right(v_place, 1)::int), right(v_place, 1)::int)::text END;
    END LOOP;
    RETURN v_text || convert_from(v_json, 'UTF8');
END $$;
